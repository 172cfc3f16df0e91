# shellcheck shell=bash
# The real coding agents that `scripts/test --agents` runs. Sourced after setup.sh, never run. They need no account: the
# tests give them a model of their own.

claude_version=2.1.330

# Installs the agents into a cache folder, unless they are there. Exports THREADMUX_CLAUDE, the program, and for each
# agent that speaks ACP the folder of its program.
install_agents() {
  install_agent "@anthropic-ai/claude-code@$claude_version" 364 claude install.cjs
  THREADMUX_CLAUDE=$installed/node_modules/@anthropic-ai/claude-code/bin/claude.exe
  install_agent "$(acp_package codex-acp)" 457 codex-acp
  THREADMUX_CODEX_ACP=$installed/node_modules/.bin
  install_agent "$(acp_package opencode-ai)" 354 opencode postinstall.mjs
  THREADMUX_OPENCODE=$installed/node_modules/.bin
  # Its own copy of Claude Code is left out: it runs the one above.
  install_agent "$(acp_package claude-agent-acp)" 80 claude-agent-acp "" --omit=optional
  THREADMUX_CLAUDE_AGENT_ACP=$installed/node_modules/.bin
  install_agent "$(acp_package gemini-cli)" 100 gemini "" --omit=optional
  THREADMUX_GEMINI=$installed/node_modules/.bin
  export THREADMUX_CLAUDE THREADMUX_CODEX_ACP THREADMUX_OPENCODE THREADMUX_CLAUDE_AGENT_ACP THREADMUX_GEMINI
}

# The package and the version that people are told to install: the engine's declaration has them.
acp_package() {
  local found
  found=$(sed -nE "s/^ *install: \"npm install -g ([^\"]*$1@[0-9.]+)\",\$/\1/p" "$root/shared/agent/engines/acp.ts")
  [ -n "$found" ] || fail "shared/agent/engines/acp.ts names no version of $1"
  echo "$found"
}

# install_agent PACKAGE@VERSION MEGABYTES PROGRAM [SCRIPT OF THE PACKAGE [ARGUMENTS FOR NPM]]
# Sets $installed to the folder that has it. A folder is there only if the installation was whole; one that has been
# damaged since is installed again.
install_agent() {
  local spec=$1 size=$2 program=$3 script=${4:-} cache name
  shift $(($# < 4 ? $# : 4))
  name=${spec%@*}
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/threadmux/agents
  mkdir -p "$cache"
  installed=$cache/${name##*/}-${spec##*@}
  exec 8>"$cache/.lock"
  flock 8
  if [ -d "$installed" ] && ! is_version "$installed" "$program" "${spec##*@}"; then
    say "$installed is damaged."
    rm -rf "$installed"
  fi
  if [ ! -d "$installed" ]; then
    say "Installing $spec into $cache ($size MB) ..."
    fetch_agent "$@"
    is_version "$installed" "$program" "${spec##*@}" ||
      fail "$program in $installed does not say that it is version ${spec##*@}"
  fi
  exec 8>&-
}

# Uses install_agent's variables.
fetch_agent() {
  local fresh
  fresh=$(mktemp -d -p "$cache")
  # Its own package.json keeps npm in this folder. `--prefix` would do so too, but then npm does not read the
  # machine's npmrc, which may name a registry or certificates.
  echo '{ "private": true }' >"$fresh/package.json"
  # Some packages ask for a newer Node than their programs need.
  if ! (cd "$fresh" && npm install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts \
          --no-update-notifier --loglevel=error "$@" "$spec" &&
        { [ -z "$script" ] || (cd "node_modules/$name" && node "$script"); }) </dev/null 8>&-; then
    rm -rf "$fresh"
    fail "could not install $spec; the lines above are npm's"
  fi
  mv "$fresh" "$installed"
}

# is_version FOLDER PROGRAM VERSION
is_version() {
  local home said
  home=$(mktemp -d)
  said=$(env -i PATH="$PATH" HOME="$home" "$1/node_modules/.bin/$2" --version 2>/dev/null </dev/null 8>&-) || said=
  rm -rf "$home"
  [[ " $said " == *" $3 "* ]]
}
