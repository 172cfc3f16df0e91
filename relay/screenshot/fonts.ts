/** The fonts of a screenshot. They come with npm: containers have none. */
import { createRequire } from "node:module";

const { resolve } = createRequire(import.meta.url);

/** The first that has a character draws it. */
export const FONT_FILES: readonly string[] = [
  "dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-Bold.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-Oblique.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSansMono-BoldOblique.ttf",
  "dejavu-fonts-ttf/ttf/DejaVuSans.ttf",
  "@expo-google-fonts/noto-sans-symbols-2/400Regular/NotoSansSymbols2_400Regular.ttf",
  "@expo-google-fonts/noto-emoji/400Regular/NotoEmoji_400Regular.ttf",
].map((file) => resolve(file));

const FOREIGN =
  /[^\p{Script=Common}\p{Script=Inherited}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Georgian}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Braille}]|[\u3000-\u33ff\uff00-\uffef]/u;

/**
 * Whether `text` is of a script that the fonts above lack (Chinese, Japanese, Korean, Thai, icons of a patched font,
 * …): then the system's fonts are looked through too, and where there is none either, an empty box is drawn.
 */
export function needsSystemFonts(text: string): boolean {
  return FOREIGN.test(text);
}
