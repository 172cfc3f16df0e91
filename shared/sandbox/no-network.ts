/**
 * The command line that runs a program in a network of its own, in which there is nothing but its own loopback, from
 * inside a box that `bwrap` has made. Its user namespace is a new one too, so the program can neither join the network
 * around it nor look into a process that has it. Pure.
 */
export function withoutNetwork(
  bwrap: string,
  program: string,
  args: readonly string[],
): { program: string; args: string[] } {
  return {
    program: bwrap,
    args: ["--dev-bind", "/", "/", "--unshare-user", "--unshare-net", "--", program, ...args],
  };
}
