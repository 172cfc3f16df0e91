/** Characters that must fill their cell exactly, drawn as shapes: a font's glyphs leave gaps or are too wide. */

/** An SVG shape without its colour, for a cell whose left upper corner is 0,0; undefined where the font draws it. */
export function findShape(text: string, width: number, height: number): string | undefined {
  const code = text.codePointAt(0) ?? 0;
  if (code >= 0x2580 && code <= 0x259f) return block(code, width, height);
  if (code >= 0x2800 && code <= 0x28ff) return braille(code - 0x2800, width, height);
  if (code >= 0xe0b0 && code <= 0xe0b3) return powerline(code, width, height);
  return undefined;
}

/** Block elements: halves and eighths, shades, quadrants. */
function block(code: number, width: number, height: number): string {
  const part = (x: number, y: number, w: number, h: number, opacity = 1) =>
    `<rect x="${x * width}" y="${y * height}" width="${w * width}" height="${h * height}"${opacity === 1 ? "" : ` fill-opacity="${opacity}"`}/>`;
  if (code === 0x2580) return part(0, 0, 1, 0.5);
  if (code <= 0x2588) {
    const eighths = (code - 0x2580) / 8;
    return part(0, 1 - eighths, 1, eighths);
  }
  if (code <= 0x258f) return part(0, 0, (0x2590 - code) / 8, 1);
  if (code === 0x2590) return part(0.5, 0, 0.5, 1);
  if (code <= 0x2593) return part(0, 0, 1, 1, (code - 0x2590) / 4);
  if (code === 0x2594) return part(0, 0, 1, 0.125);
  if (code === 0x2595) return part(0.875, 0, 0.125, 1);
  const quadrants = QUADRANTS[code - 0x2596] ?? 0;
  return [0, 1, 2, 3]
    .filter((quadrant) => quadrants & (1 << quadrant))
    .map((quadrant) => part(quadrant & 1 ? 0.5 : 0, quadrant & 2 ? 0.5 : 0, 0.5, 0.5))
    .join("");
}

/** U+2596 … U+259F; bits: upper left, upper right, lower left, lower right. */
const QUADRANTS = [0b0100, 0b1000, 0b0001, 0b1101, 0b1001, 0b0111, 0b1011, 0b0010, 0b0110, 0b1110];

/** Where each of the eight dots is, in the order of its bit. */
const DOTS = [
  [0, 0],
  [0, 1],
  [0, 2],
  [1, 0],
  [1, 1],
  [1, 2],
  [0, 3],
  [1, 3],
] as const;

function braille(dots: number, width: number, height: number): string {
  const circles = DOTS.filter((_, bit) => dots & (1 << bit)).map(
    ([column, row]) =>
      `<circle cx="${(column * 2 + 1) * (width / 4)}" cy="${(row * 2 + 1) * (height / 8)}" r="${width / 7}"/>`,
  );
  return circles.join("");
}

function powerline(code: number, width: number, height: number): string {
  const [from, to] = code <= 0xe0b1 ? [0, width] : [width, 0];
  const points = `${from},0 ${to},${height / 2} ${from},${height}`;
  return code % 2 === 0
    ? `<polygon points="${points}"/>`
    : `<polyline points="${points}" fill="none" stroke="currentColor"/>`;
}
