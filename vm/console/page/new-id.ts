/** `crypto.randomUUID` is there on secure origins alone; a console may be opened by plain HTTP. */
export function newId(bytes = 16): string {
  const values = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(values, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
