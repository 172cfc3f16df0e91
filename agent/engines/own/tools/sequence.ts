/** Finds one sequence in another, in linear time: `indexOf` takes minutes for a hostile text of a megabyte. Pure. */

/**
 * Finds all places of a sequence by the method of Knuth, Morris and Pratt. Places may overlap.
 * @param wanted at least one element
 * @returns where it begins, in order
 */
export function* placesOf<T>(
  wanted: ArrayLike<T>,
  all: ArrayLike<T>,
  from = 0,
): Generator<number, void, undefined> {
  const back = fallbacks(wanted);
  let matched = 0;
  for (let at = from; at < all.length; at++) {
    while (matched > 0 && wanted[matched] !== all[at]) matched = back[matched - 1] ?? 0;
    if (wanted[matched] === all[at]) matched++;
    if (matched < wanted.length) continue;
    yield at - matched + 1;
    matched = back[matched - 1] ?? 0;
  }
}

/** Finds places as {@link placesOf} does, but none that begins within the one before it. */
export function* apartPlacesOf<T>(
  wanted: ArrayLike<T>,
  all: ArrayLike<T>,
): Generator<number, void, undefined> {
  let end = 0;
  for (const at of placesOf(wanted, all)) {
    if (at < end) continue;
    end = at + wanted.length;
    yield at;
  }
}

/** For each beginning: the length of the longest shorter one that it ends in. */
function fallbacks<T>(wanted: ArrayLike<T>): Int32Array {
  const back = new Int32Array(wanted.length);
  let length = 0;
  for (let at = 1; at < wanted.length; at++) {
    while (length > 0 && wanted[length] !== wanted[at]) length = back[length - 1] ?? 0;
    if (wanted[length] === wanted[at]) length++;
    back[at] = length;
  }
  return back;
}
