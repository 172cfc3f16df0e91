/** The address of a link that a program prints (OSC 8), as people may be shown it. Pure. */

/** Longer ones are cut: a program may write megabytes into one. */
const MAX_ADDRESS_UNITS = 300;
const KNOWN_SCHEME = /^(?:https?:\/\/|mailto:|file:\/\/)/i;

/**
 * @param data as OSC 8 has it: parameters, a semicolon, the address.
 * @returns visible ASCII; undefined for the end of a link, and for what is no address of a page, a mailbox or a file.
 */
export function parseTerminalLink(data: string): string | undefined {
  const separator = data.indexOf(";");
  if (separator < 0) return undefined;
  const raw = data.slice(separator + 1, separator + 2 + MAX_ADDRESS_UNITS);
  if (!KNOWN_SCHEME.test(raw)) return undefined;
  // Letters that look like others, controls and blanks are shown as a browser sends them.
  const address = raw.replace(/\p{Cs}/gu, "\ufffd").replace(/[^\x21-\x7e]/gu, encodeURIComponent);
  const isCut = address.length > MAX_ADDRESS_UNITS;
  // A copy of its own: a slice would hold all of the text that it was cut from.
  return Buffer.from(isCut ? `${address.slice(0, MAX_ADDRESS_UNITS)}…` : address).toString();
}

/** Whether the link's text already tells where it leads: the address itself, or the name of the file. */
export function tellsAddress(text: string, address: string): boolean {
  if (text === address || `${text}/` === address || `mailto:${text}` === address) return true;
  if (!/^file:/i.test(address) || text === "") return false;
  const path = decodePath(address);
  return path.endsWith(text.startsWith("/") ? text : `/${text}`) || path.endsWith(`/${text}/`);
}

function decodePath(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    // A lone per cent sign: the text is compared with the address as it is.
    return address;
  }
}
