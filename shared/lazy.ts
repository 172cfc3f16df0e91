/** A value that is made when it is first asked for, and kept: a program that starts often pays for what it uses. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
