package keeper

const sysSeccomp = 277
