# shellcheck shell=bash
# What scripts/run and scripts/test both do before their own work. Sourced, never run.
# Exit code 2 everywhere: something is missing that the person has to see to; the one line says what.

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd -P)

say() { printf '%s\n' "$*"; }

fail() {
  printf 'threadmux: %s\n' "$1" >&2
  exit "${2:-1}"
}

need_node() {
  local tool version
  for tool in node npm; do
    command -v "$tool" >/dev/null ||
      fail "$tool is not on the PATH; install Node.js 20.19 or newer (22 and 24 are fine too), npm comes with it" 2
  done
  version=$(node --version)
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    fail "Node.js 20.19 or newer is needed, this is $version ($(command -v node))" 2
}

# need_packages COMMAND:PACKAGE...: installs the packages whose command is missing, or says which they are.
need_packages() {
  local entry missing=() as_root=() log
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    fail "missing: ${missing[*]}; install them with this system's package manager and start again" 2
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! { command -v sudo && sudo -n true; } >/dev/null 2>&1; then
      fail "missing: ${missing[*]}; install with: sudo apt-get install -y ${missing[*]}" 2
    fi
    as_root=(sudo -n)
  fi
  say "Installing system packages: ${missing[*]} ..."
  log=$(mktemp)
  # An update that fails (one source of many is down) need not matter: the install says whether it did.
  if ! { "${as_root[@]}" apt-get update || true
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
       } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "could not install ${missing[*]}; the lines above are apt-get's" 2
  fi
  rm -f "$log"
}

# Root's agents are kept in by bubblewrap; everybody else's by util-linux, which every system has. Where nothing installs
# it, the sidecar runs without a sandbox and says so.
sandbox_packages() {
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then echo bwrap:bubblewrap; fi
}

# What node_modules is made from: the lock file, and the kind of Node.js that two packages are compiled for.
dependencies_wanted() {
  node -p '[process.platform, process.arch, process.versions.modules].join(" ")' && sha256sum <"$root/package-lock.json"
}

dependencies_are_current() {
  [ "$(cat "$root/node_modules/.threadmux-stamp" 2>/dev/null)" = "$(dependencies_wanted)" ]
}

# need_system COMMAND:PACKAGE...: these, and a compiler where npm packages are to be compiled; all named at once.
need_system() {
  local compiler=()
  dependencies_are_current || compiler=(python3:python3 make:make g++:g++)
  need_packages "$@" "${compiler[@]}"
}

install_dependencies() {
  local prefix
  if dependencies_are_current; then return; fi
  # Node's own headers, where it came with them, instead of a download of the same.
  prefix=$(node -p 'path.dirname(path.dirname(process.execPath))')
  if [ -z "${npm_config_nodedir:-}" ] && [ -f "$prefix/include/node/node.h" ]; then
    export npm_config_nodedir=$prefix
  fi
  say "Installing npm packages; two are compiled, which takes a minute or two ..."
  (cd "$root" && npm ci --no-audit --no-fund --no-update-notifier --loglevel=error </dev/null) ||
    fail "npm ci failed; the lines above say why"
  dependencies_wanted >"$root/node_modules/.threadmux-stamp"
}

# What dist/ is made from, a file a line; what the tests bundle beside their sources is not.
sources() {
  (cd "$root" && find shared vm relay local-discord cli agent follow browser scripts/build.mjs scripts/page-bundle.mjs \
    scripts/agent-bundle.mjs scripts/relay-bundle.mjs scripts/agent-loader.cjs scripts/agent-pack.cjs \
    package.json package-lock.json tsconfig.json tsconfig.build.json tsconfig.client.json \
    \( -path "*/bundle" -o -name "main.cjs*" -o -name "*.bundle.[cm]js" -o -name "*.test.ts" \) -prune -o \
    -type f "$@" -print)
}

# Compiles to dist/, unless nothing that goes into it has changed since: no file is newer, none came, none went.
build() {
  local built=$root/dist/.built list=$root/dist/.sources
  if [ -f "$built" ] && [ -z "$(sources -newer "$built")" ] && [ "$(sources | sort)" = "$(cat "$list" 2>/dev/null)" ]; then
    return
  fi
  say "Building ..."
  (cd "$root" && npm run --silent build </dev/null) || fail "the build failed; the lines above say why"
  sources | sort >"$list"
}

# Everything up to a built checkout. One at a time: two npm ci in one folder would ruin each other's work.
set_up() {
  (
    if ! flock -n 9; then
      say "Waiting for another set-up in this folder ..."
      flock 9
    fi
    install_dependencies 9>&-
    build 9>&-
  ) 9<"$root"
}
