// %% make
const samples = new Float64Array(8_000_000)
for (let i = 0; i < samples.length; i++) samples[i] = Math.sin(i / 1000)

// %% derive
const smooth = new Float64Array(samples.length)
for (let i = 2; i < samples.length - 2; i++) {
  smooth[i] = (samples[i - 2] + samples[i - 1] + samples[i] + samples[i + 1] + samples[i + 2]) / 5
}

// %% use
console.log(smooth.reduce((sum, v) => sum + v, 0).toFixed(3), EDITION)
