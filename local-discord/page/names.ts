/** Who and what a message speaks of. */
export interface Names {
  me: () => string | undefined;
  ofUser: (id: string) => string | undefined;
  ofRole: (id: string) => string | undefined;
  findChannel: (id: string) => { name: string; isThread: boolean } | undefined;
  openChannel: (id: string) => void;
}
