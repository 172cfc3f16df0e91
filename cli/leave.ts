import { EXIT } from "./exit-codes.ts";

const EXIT_TERMINATED = 143;

/**
 * If Ctrl-C or SIGTERM ends us, `clean` runs first and we exit as shells expect.
 * @returns what takes this back
 */
export function onLeave(clean: () => void): () => void {
  const leave = (code: number) => {
    clean();
    process.exit(code);
  };
  const onInterrupt = () => leave(EXIT.interrupted);
  const onTerminate = () => leave(EXIT_TERMINATED);
  process.once("SIGINT", onInterrupt).once("SIGTERM", onTerminate);
  return () => void process.off("SIGINT", onInterrupt).off("SIGTERM", onTerminate);
}
