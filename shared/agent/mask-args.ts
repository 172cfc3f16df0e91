/** Arguments of a program as others may see them: what looks like a secret in them is left out. Pure. */

/** Stands in the place of what looks like a secret. */
export const MASK = "…";
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie|bearer/i;
/** Tokens of known makers, and long words of letters and digits in which both are mixed. */
const SECRET_VALUE =
  /^(sk|pk|rk|gh[opsur]|glpat|xox[a-z]|hf|AKIA|AIza)[-_]?[\w-]{12,}|^(?=\S*\d)(?=\S*[A-Za-z])[\w+/=.-]{32,}$/;

/** The arguments in their order, as many as there were. */
export function maskArgs(args: readonly string[]): string[] {
  return args.map((arg, at) => {
    const before = args[at - 1] ?? "";
    if (/^--?[\w-]+$/.test(before) && SECRET_NAME.test(before) && !arg.startsWith("-")) return MASK;
    const named = /^([\w.-]+)\s*[=:]\s*/.exec(arg);
    if (named && SECRET_NAME.test(named[1] ?? "")) return `${named[0]}${MASK}`;
    const value = named ? arg.slice(named[0].length) : arg;
    if (SECRET_VALUE.test(value) && !value.startsWith("/")) return named ? `${named[0]}${MASK}` : MASK;
    return arg.replace(/(\/\/[^/@\s:]*):[^/@\s]+@/, `$1:${MASK}@`);
  });
}
