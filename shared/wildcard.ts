/** Whether a text fits a pattern of `*` and `?`. Takes as long as both are, multiplied, at the worst. */
export function fitsWildcard(pattern: string, text: string): boolean {
  const [wanted, given] = [[...pattern], [...text]];
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let i = 0; i < given.length; ) {
    if (wanted[at] === "*") {
      star = at++;
      resume = i;
    } else if (wanted[at] === "?" || wanted[at] === given[i]) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++resume;
    } else return false;
  }
  while (wanted[at] === "*") at++;
  return at === wanted.length;
}
