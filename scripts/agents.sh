# shellcheck shell=bash
# The real coding agent that `scripts/test --agents` runs. Sourced after setup.sh, never run.

claude_version=2.1.330

# Installs the agent into a cache folder, unless it is there, and sets $claude to its program. It needs no account:
# the tests give it a model of their own.
install_claude() {
  local cache fresh
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/threadmux/agents
  mkdir -p "$cache"
  claude=$cache/claude-code-$claude_version/node_modules/@anthropic-ai/claude-code/bin/claude.exe
  exec 8>"$cache/.lock"
  flock 8
  if ! is_claude "$claude"; then
    say "Installing @anthropic-ai/claude-code $claude_version into $cache (364 MB) ..."
    fresh=$(mktemp -d -p "$cache")
    # Its own package.json keeps npm in this folder. `--prefix` would do so too, but then npm does not read the
    # machine's npmrc, which may name a registry or certificates.
    echo '{ "private": true }' >"$fresh/package.json"
    # Node 22 is asked for by the package, but its program brings its own.
    if ! (cd "$fresh" && npm install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts \
            --no-update-notifier --loglevel=error "@anthropic-ai/claude-code@$claude_version" &&
          node node_modules/@anthropic-ai/claude-code/install.cjs) </dev/null 8>&-; then
      rm -rf "$fresh"
      fail "could not install @anthropic-ai/claude-code $claude_version; the lines above are npm's"
    fi
    rm -rf "$cache/claude-code-$claude_version"
    mv "$fresh" "$cache/claude-code-$claude_version"
    is_claude "$claude" || fail "$claude does not say that it is version $claude_version"
  fi
  exec 8>&-
}

is_claude() {
  [ -x "$1" ] && [ "$(env -i PATH="$PATH" HOME=/nonexistent "$1" --version 2>/dev/null)" = "$claude_version (Claude Code)" ]
}
