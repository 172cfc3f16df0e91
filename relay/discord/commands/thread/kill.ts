import { kill as killAnywhere } from "../kill.ts";
import { type Part, threadOption } from "./part.ts";

export const kill: Part = {
  define: (part) =>
    part
      .setName("kill")
      .setDescription("End a thread from anywhere and archive its thread")
      .addStringOption(threadOption("Which one: #12, a title, or one of the list", true)),
  right: "press",
  isPrivate: false,
  run: (interaction, context) => killAnywhere.run(interaction, context),
};
