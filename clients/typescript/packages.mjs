// Makes the packages of a release for npm, from programs that are built. Equal inputs give equal files.
//
// usage: node packages.mjs VERSION PROGRAMS OUT
//
// PROGRAMS has a folder OS_ARCH with the program xstate for each platform, such as linux_amd64. There is a package for
// each platform with the program, and one of the client, which npm installs with the package that fits the platform.
// The client is compiled before, by npm run build.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const HERE = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const PLATFORMS = {
  linux_amd64: "linux-x64",
  linux_arm64: "linux-arm64",
  darwin_amd64: "darwin-x64",
  darwin_arm64: "darwin-arm64",
};

const [tag, programs, out] = process.argv.slice(2);
if (!out) throw new Error("usage: node packages.mjs VERSION PROGRAMS OUT");
const about = JSON.parse(fs.readFileSync(path.join(HERE, "package.json"), "utf8"));
const version = tag.replace(/^v/, "");
if (version !== about.version) throw new Error(`package.json has the version ${about.version}`);

const scratch = fs.mkdtempSync(path.join(out, "npm-"));
const made = Object.entries(PLATFORMS).filter(([platform]) => fs.existsSync(path.join(programs, platform, "xstate")));
for (const [platform, name] of made) {
  const [os, cpu] = name.split("-");
  const { license, repository } = about;
  const folder = path.join(scratch, name);
  copy(path.join(programs, platform, "xstate"), path.join(folder, "bin/xstate"), 0o755);
  const licences = path.join(programs, "common/licences");
  if (fs.existsSync(licences)) fs.cpSync(licences, path.join(folder, "licences"), { recursive: true });
  const libc = os === "linux" ? { libc: ["glibc"] } : {};
  const description = `The program xstate for ${name}`;
  pack(folder, {
    name: `@xstate-engine/${name}`,
    version,
    description,
    license,
    repository,
    os: [os],
    cpu: [cpu],
    ...libc,
  });
}
const { scripts, devDependencies, ...client } = about;
const optionalDependencies = Object.fromEntries(made.map(([, name]) => [`@xstate-engine/${name}`, version]));
const folder = path.join(scratch, "client");
fs.cpSync(path.join(HERE, "dist/src"), path.join(folder, "dist/src"), { recursive: true });
copy(path.join(HERE, "bin/xstate.mjs"), path.join(folder, "bin/xstate.mjs"), 0o755);
copy(path.join(HERE, "README.md"), path.join(folder, "README.md"));
pack(folder, { ...client, optionalDependencies });
fs.rmSync(scratch, { recursive: true });

function copy(from, to, mode = 0o644) {
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
  fs.chmodSync(to, mode);
}

function pack(folder, description) {
  copy(path.join(HERE, "LICENSE"), path.join(folder, "LICENSE"));
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(description, null, 2) + "\n");
  execFileSync("npm", ["pack", "--silent", "--pack-destination", path.resolve(out)], { cwd: folder, stdio: "ignore" });
}
