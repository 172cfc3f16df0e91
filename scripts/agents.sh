# shellcheck shell=bash
# The real coding agents that `scripts/test --agents` runs. Sourced after setup.sh, never run. They need no account: the
# tests give them a model of their own.

claude_version=2.1.330

# Installs the agents into a cache folder, unless they are there. Exports THREADMUX_CLAUDE, the program, and for each
# agent that speaks ACP the folder of its program.
install_agents() {
  install_agent "@anthropic-ai/claude-code@$claude_version" 364 install.cjs
  THREADMUX_CLAUDE=$installed/node_modules/@anthropic-ai/claude-code/bin/claude.exe
  is_claude "$THREADMUX_CLAUDE" || fail "$THREADMUX_CLAUDE does not say that it is version $claude_version"
  install_agent "$(acp_package codex-acp)" 457
  THREADMUX_CODEX_ACP=$installed/node_modules/.bin
  install_agent "$(acp_package opencode-ai)" 354 postinstall.mjs
  THREADMUX_OPENCODE=$installed/node_modules/.bin
  # Its own copy of Claude Code is left out: it runs the one above.
  install_agent "$(acp_package claude-agent-acp)" 80 "" --omit=optional
  THREADMUX_CLAUDE_AGENT_ACP=$installed/node_modules/.bin
  install_agent "$(acp_package gemini-cli)" 100 "" --omit=optional
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

# install_agent PACKAGE@VERSION MEGABYTES [SCRIPT OF THE PACKAGE [ARGUMENTS FOR NPM]]
# Sets $installed to the folder that has it. A folder is there only if the installation was whole.
install_agent() {
  local spec=$1 size=$2 script=${3:-} cache fresh name
  shift $(($# < 3 ? $# : 3))
  name=${spec%@*}
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/threadmux/agents
  mkdir -p "$cache"
  installed=$cache/${name##*/}-${spec##*@}
  exec 8>"$cache/.lock"
  flock 8
  if [ ! -d "$installed" ]; then
    say "Installing $spec into $cache ($size MB) ..."
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
  fi
  exec 8>&-
}

is_claude() {
  [ -x "$1" ] && [ "$(env -i PATH="$PATH" HOME=/nonexistent "$1" --version 2>/dev/null)" = "$claude_version (Claude Code)" ]
}
