/** How people get the coding agent. */

/** Older ones forget a call that ran when they were killed, and run it twice. */
export const MIN_VERSION = "2.1.330";

/** Without the version npm may take an older one, and without `--allow-scripts` npm 12 leaves the program out. */
export const INSTALL_COMMAND = `npm install -g --allow-scripts=@anthropic-ai/claude-code @anthropic-ai/claude-code@${MIN_VERSION}`;
