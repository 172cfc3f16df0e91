/** The colours of a screenshot, as 24-bit numbers: dark, with text that is readable on a phone. */

export const DEFAULT_FOREGROUND = 0xd8dadf;
export const DEFAULT_BACKGROUND = 0x1a1b1f;
export const TITLE_FOREGROUND = 0x9a9da6;
export const TITLE_BACKGROUND = 0x2a2c32;

const BASIC = [
  0x000000, 0xd14b4b, 0x22b573, 0xd6c22c, 0x3d7fdb, 0xbc5fd3, 0x1fb0c9, 0xd0d2d6, 0x6d7078, 0xf26d6d,
  0x3ddc91, 0xf5e64c, 0x6aa6ff, 0xde8bf2, 0x4bd6ec, 0xffffff,
] as const;

/** One of the 256 colours: 16 named ones, a cube of 216, 24 greys. */
export function paletteColour(index: number): number {
  const basic = BASIC[index];
  if (basic !== undefined) return basic;
  if (index >= 232) return (8 + (index - 232) * 10) * 0x010101;
  const cube = index - 16;
  return (level(Math.floor(cube / 36)) << 16) | (level(Math.floor(cube / 6) % 6) << 8) | level(cube % 6);
}

/** Half way between two colours. */
export function mix(one: number, other: number): number {
  return ((one & 0xfefefe) >> 1) + ((other & 0xfefefe) >> 1);
}

/** As SVG writes it. */
export function toHex(colour: number): string {
  return `#${colour.toString(16).padStart(6, "0")}`;
}

function level(step: number): number {
  return step === 0 ? 0 : 55 + step * 40;
}
