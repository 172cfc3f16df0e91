/** The longest that a request waits for news. */
export const MAX_WAIT_MS = 25_000;
