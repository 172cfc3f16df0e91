import { AppError } from "../../../../shared/errors.ts";
import { joinBlocks } from "../../../content/lists/lines.ts";
import { inlineCode, nameOf } from "../../../content/texts.ts";
import { control, getMeant, type Part, threadOption } from "./part.ts";

const ALL = "all";
/** A rule's text, as its button showed it. */
const MAX_RULE_CHARACTERS = 300;

export const rules: Part = {
  define: (part) =>
    part
      .setName("rules")
      .setDescription("What an agent may do without asking again, and taking that back")
      .addStringOption((option) =>
        option
          .setName("withdraw")
          .setDescription("The rule that is to hold no longer; all takes back every one")
          .setAutocomplete(true),
      )
      .addStringOption(threadOption("Which agent; this one if left out")),
  right: "decide",
  isPrivate: false,
  run: async (interaction, context) => {
    const typed = interaction.options.getString("withdraw");
    const { threadId } = await getMeant(interaction, context);
    const granted = await context.vm.thread(threadId).listRules();
    if (typed === null) {
      const [text = ""] = joinBlocks(listed(granted), 1);
      await interaction.editReply(text);
      return;
    }
    const withdraw = findRules(granted, typed);
    const thread = await control(interaction, context, { control: "rules", withdraw });
    const names = withdraw.map((rule) => inlineCode(rule, MAX_RULE_CHARACTERS));
    const [text = ""] = joinBlocks([`⚙ ${nameOf(thread)} asks again about:`, ...names], 1);
    await interaction.editReply(text);
  },
};

function listed(granted: readonly string[]): string[] {
  if (granted.length === 0) return ["Nobody has allowed this agent anything for the whole thread."];
  const lines = granted.map((rule) => `- ${inlineCode(rule, MAX_RULE_CHARACTERS)}`);
  return ["Allowed in this thread; `/thread rules withdraw:` takes it back:", ...lines];
}

/** @throws AppError if none is meant, or more than one */
function findRules(granted: readonly string[], typed: string): string[] {
  const text = typed.trim();
  if (text === ALL && granted.length > 0) return [...granted];
  // What is suggested has at most 100 characters: the beginning of a long rule.
  const begin = text.replace(/…$/, "");
  const meant = granted.includes(text) ? [text] : granted.filter((rule) => rule.startsWith(begin));
  if (meant.length === 1 && text !== "") return meant;
  throw new AppError(
    "not_found",
    "withdraw: no rule of this agent, or more than one, is meant; /thread rules lists them.",
  );
}
