import { SlashCommandBuilder } from "discord.js";
import { refusePrivate, screenLinksText } from "../../content/texts.ts";
import { type Command, threadHere } from "./command.ts";

export const screenshot: Command = {
  definition: new SlashCommandBuilder()
    .setName("screenshot")
    .setDescription("Show this thread's terminal as a picture, with its colours")
    .toJSON(),
  right: "read",
  isPrivate: false,
  run: async (interaction, { threads, screenshots }) => {
    const thread = threadHere(interaction, threads);
    refusePrivate(await thread.get());
    const screen = await thread.getScreen({ format: "ansi" });
    const attachment = await screenshots.render(screen);
    const content = screenLinksText(screen.links ?? []);
    await interaction.editReply({ content, files: [{ attachment, name: "screen.png" }] });
  },
};
