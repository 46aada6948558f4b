package keeper

const sysSeccomp = 317
