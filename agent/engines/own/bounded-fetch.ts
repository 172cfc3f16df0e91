/** A provider's answer within bounds: a server that never ends its answer must not fill this process's memory. */

/** Of one answer as it comes over the network, where each word stands in a line of its own. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of all that it says in one answer. */
export const MAX_ANSWER_CHARACTERS = 4_000_000;

/** The answer is longer than any that a model gives. */
export class LongAnswer extends Error {
  constructor() {
    super("its answer has no end");
  }
}

/** As `fetch`; the body fails with {@link LongAnswer} once it is too long. */
export async function boundedFetch(
  input: Parameters<typeof fetch>[0],
  init?: Parameters<typeof fetch>[1],
): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.body) return response;
  let bytes = 0;
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) controller.error(new LongAnswer());
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(counted, { status, statusText, headers });
}
