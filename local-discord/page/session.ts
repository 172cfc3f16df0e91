/**
 * The key that lets this page in. It comes in the part of the address that browsers send to nobody, and is kept in the
 * storage of this origin, which is host and port; not in a cookie, which every port of the host would be sent.
 */
const NAME = "local-discord.key";
const IN_ADDRESS = /^#key=([\w-]+)$/;

/** Takes the key out of the address. The tabs share it: the last address that was opened is the one that counts. */
export function takeKey(): void {
  const key = IN_ADDRESS.exec(location.hash)?.[1];
  if (key === undefined) return;
  localStorage.setItem(NAME, key);
  history.replaceState(null, "", "/");
}

/** The address of a new start, opened where the page is already: it begins anew with the new key. */
export function beginsAnew(): boolean {
  if (!IN_ADDRESS.test(location.hash)) return false;
  takeKey();
  location.reload();
  return true;
}

export function authorization(): Record<string, string> {
  const key = localStorage.getItem(NAME);
  return key === null ? {} : { authorization: `Bearer ${key}` };
}
