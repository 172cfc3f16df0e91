/** The budgets of threads, and which limits' hits their people have been told of. */
import * as z from "zod";
import { type Budget, budgetSchema, RESOURCES, type Resource } from "../../shared/budget.ts";
import { knownThreadId, type ThreadId } from "../../shared/ids.ts";
import type { Database } from "./database.ts";

/**
 * How often the kernel had held the thread to a limit when that was told last; and before that, in control groups that
 * are gone, whose counts were others.
 */
export type ToldHits = Readonly<Partial<Record<Resource | `${Resource}Before`, number>>>;

export interface StoredBudget {
  readonly threadId: ThreadId;
  readonly budget: Budget;
  readonly told: ToldHits;
}

const toldSchema = z.partialRecord(
  z.enum([...RESOURCES, ...RESOURCES.map((resource) => `${resource}Before` as const)]),
  z.int(),
);
const rowSchema = z.object({ thread_id: knownThreadId, budget: z.string(), told: z.string() }).transform(
  ({ thread_id, budget, told }): StoredBudget => ({
    threadId: thread_id,
    budget: budgetSchema.parse(JSON.parse(budget)),
    told: toldSchema.parse(JSON.parse(told)),
  }),
);

export class BudgetTable {
  readonly #insert;
  readonly #find;
  readonly #listOpen;
  readonly #setTold;

  constructor(db: Database) {
    this.#insert = db.prepare("INSERT INTO thread_budgets (thread_id, budget) VALUES (?, ?)");
    this.#find = db.prepare("SELECT thread_id, budget, told FROM thread_budgets WHERE thread_id = ?");
    this.#listOpen = db.prepare(
      `SELECT thread_id, budget, told FROM thread_budgets JOIN threads USING (thread_id)
       WHERE is_made = 1 AND status NOT IN ('killed', 'lost')`,
    );
    this.#setTold = db.prepare("UPDATE thread_budgets SET told = ? WHERE thread_id = ?");
  }

  insert(threadId: ThreadId, budget: Budget): void {
    this.#insert.run(threadId, JSON.stringify(budget));
  }

  find(threadId: ThreadId): StoredBudget | undefined {
    const row = this.#find.get(threadId);
    return row === undefined ? undefined : rowSchema.parse(row);
  }

  /** Those of open threads. */
  listOpen(): StoredBudget[] {
    return z.array(rowSchema).parse(this.#listOpen.all());
  }

  setTold(threadId: ThreadId, told: ToldHits): void {
    this.#setTold.run(JSON.stringify(told), threadId);
  }
}
