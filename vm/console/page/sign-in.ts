/** The form that takes the token. */
import { ApiError, signIn } from "./api.ts";
import { errorText, find } from "./dom.ts";

/** Signs in with what stands in the form, and says what is wrong with it. @param onIn shows what is behind it */
export async function submitToken(onIn: () => Promise<void>): Promise<void> {
  const input = find<HTMLInputElement>("#token");
  const problem = find("#sign-in .problem");
  problem.textContent = "";
  try {
    await signIn(input.value.trim());
    input.value = "";
    await onIn();
  } catch (error) {
    const isWrong = error instanceof ApiError && error.status === 401;
    problem.textContent = isWrong ? "That is not the token." : errorText(error);
    input.select();
  }
}
