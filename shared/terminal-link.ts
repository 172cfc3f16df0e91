/** The address of a link that a program prints (OSC 8), as people may be shown it. Pure. */

/** Longer ones are cut: a program may write megabytes into one. */
const MAX_ADDRESS_UNITS = 300;
const KNOWN_SCHEME = /^(?:https?:\/\/|mailto:|file:\/\/)/i;

/** A link's end is looked for with no more of its text: a hostile screen is large, and each place is tried. */
const MAX_SOUGHT_UNITS = 32;

export interface TerminalLink {
  readonly text: string;
  /** As {@link parseTerminalLink} gives it. */
  readonly address: string;
}

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

/**
 * In which of a screen's rows, wrapped ones included, the link's text ends.
 * @returns the lowest one's index; -1 if its text is not there
 */
export function findLinkRow(rows: readonly string[], { text }: TerminalLink): number {
  const sought = text.slice(-MAX_SOUGHT_UNITS);
  const at = rows.join("").lastIndexOf(sought);
  if (at < 0) return -1;
  const end = at + sought.length;
  let units = 0;
  return rows.findIndex((row) => {
    units += row.length;
    return units >= end;
  });
}

/** The rows with each link's address behind the row in which its text ends. @param plain the rows without colours */
export function withAddresses(
  rows: readonly string[],
  links: readonly TerminalLink[],
  plain: readonly string[] = rows,
): string[] {
  const shown = [...rows];
  for (const link of links) {
    const row = findLinkRow(plain, link);
    if (row >= 0) shown[row] += ` (${link.address})`;
  }
  return shown;
}

function decodePath(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    // A lone per cent sign: the text is compared with the address as it is.
    return address;
  }
}
