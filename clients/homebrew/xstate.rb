# .ci/installers writes the version of a release and the checksums of its archives into this formula.
class Xstate < Formula
  desc "Runs programs block by block, and after an edit only what it affects"
  homepage "https://github.com/xstate-engine/xstate"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/xstate-engine/xstate/releases/download/v#{version}/xstate_v#{version}_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "https://github.com/xstate-engine/xstate/releases/download/v#{version}/xstate_v#{version}_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/xstate-engine/xstate/releases/download/v#{version}/xstate_v#{version}_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "https://github.com/xstate-engine/xstate/releases/download/v#{version}/xstate_v#{version}_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "xstate"
    bash_completion.install "completions/xstate.bash" => "xstate"
    zsh_completion.install "completions/_xstate"
    fish_completion.install "completions/xstate.fish"
    man1.install Dir["man/*.1"]
    prefix.install "licences"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/xstate version")
  end
end
