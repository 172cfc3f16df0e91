/** Holds threads to their budgets: puts each into control groups whose limits are its own. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Budget, budgetSchema, RESOURCES, type Resource } from "../../shared/budget.ts";
import { errorText } from "../../shared/errors.ts";
import { type Cgroups, findGroup, groupName, idOf, removeGroup } from "./cgroups.ts";
import { CONTROLLERS, type Taken } from "./controllers.ts";

/** Where a resource is held. */
interface Hold {
  version: 1 | 2;
  /** The sidecar's own group there, below which threads have theirs. */
  path: string;
}

/** Why a resource is not held. */
export type Problems = Readonly<Partial<Record<Resource, string>>>;

export class BudgetGroups {
  readonly #holds: Readonly<Partial<Record<Resource, Hold>>>;
  readonly problems: Problems;

  /**
   * Looks what this machine can hold.
   * @param cgroups the threads' groups of version 2; undefined if none can be made
   * @param stateDir each sidecar has groups of its own.
   */
  static open(stateDir: string, cgroups: Cgroups | undefined): BudgetGroups {
    const name = groupName(stateDir);
    const holds: Partial<Record<Resource, Hold>> = {};
    const problems: Partial<Record<Resource, string>> = {};
    for (const resource of RESOURCES) {
      const found = findFirst(resource, name) ?? findSecond(resource, cgroups);
      if (typeof found === "string") problems[resource] = found;
      else holds[resource] = found;
    }
    return new BudgetGroups(holds, problems);
  }

  /** Nothing is held. */
  static none(): BudgetGroups {
    const why = "control groups are not used";
    return new BudgetGroups({}, Object.fromEntries(RESOURCES.map((resource) => [resource, why])));
  }

  private constructor(holds: Partial<Record<Resource, Hold>>, problems: Partial<Record<Resource, string>>) {
    this.#holds = holds;
    this.problems = problems;
  }

  /**
   * Makes the groups of a budget, with its limits. What is not held here is left out.
   * @param marker `NAME=uuid`, by which the thread's processes are known
   * @returns the groups' paths, beside the thread's own group of version 2, and why the kernel refused a limit: such as
   * more processors than the group above has
   */
  make(marker: string, budget: Budget): { paths: string[]; refused: Problems } {
    const paths = new Set<string>();
    const refused: { -readonly [K in keyof Problems]: Problems[K] } = {};
    for (const [resource, hold] of this.#held(budget)) {
      const path = pathIn(hold, marker);
      try {
        mkdirSync(path, { recursive: true });
        CONTROLLERS[hold.version][resource].limit(path, budget[resource] ?? 0);
        if (hold.version === 1) paths.add(path);
      } catch (error) {
        refused[resource] = `the kernel refuses it (${errorText(error)})`;
      }
    }
    return { paths: [...paths], refused };
  }

  /** The limits of the groups that are there. A limit that is none, or that no budget may have, is left out. */
  findLimits(marker: string): Budget {
    const found: { -readonly [K in keyof Budget]: Budget[K] } = {};
    for (const resource of RESOURCES) {
      const hold = this.#holds[resource];
      if (!hold || !existsSync(pathIn(hold, marker))) continue;
      const limit = CONTROLLERS[hold.version][resource].find(pathIn(hold, marker));
      if (budgetSchema.safeParse({ [resource]: limit }).success) found[resource] = limit;
    }
    return found;
  }

  /** @returns undefined for what is not held, or whose group is gone */
  read(marker: string, budget: Budget): Partial<Record<Resource, Taken>> {
    const taken: Partial<Record<Resource, Taken>> = {};
    for (const [resource, hold] of this.#held(budget)) {
      try {
        taken[resource] = CONTROLLERS[hold.version][resource].read(pathIn(hold, marker));
      } catch (error) {
        // Its processes have ended and their group with them; anything else is a fault.
        if (!["ENOENT", "ENODEV"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
    return taken;
  }

  /** Once its processes have ended. */
  remove(marker: string): void {
    for (const hold of Object.values(this.#holds)) if (hold.version === 1) removeGroup(pathIn(hold, marker));
  }

  /** Removes what is empty; threads that go on keep theirs. */
  close(): void {
    for (const path of this.paths) removeGroup(path);
  }

  /** Where groups of version 1 are made. */
  get paths(): string[] {
    return Object.values(this.#holds).flatMap(({ version, path }) => (version === 1 ? [path] : []));
  }

  #held(budget: Budget): [Resource, Hold][] {
    return RESOURCES.flatMap((resource): [Resource, Hold][] => {
      const hold = this.#holds[resource];
      return hold && budget[resource] !== undefined ? [[resource, hold]] : [];
    });
  }
}

function pathIn({ path }: Hold, marker: string): string {
  return join(path, idOf(marker));
}

/** Undefined if the controller has no hierarchy of version 1; the reason if it has one that takes no group. */
function findFirst(resource: Resource, name: string): Hold | string | undefined {
  const own = findGroup(resource);
  if (own === undefined) return undefined;
  const path = join(own, name);
  try {
    mkdirSync(path, { recursive: true });
    return { version: 1, path };
  } catch {
    return `the control group ${own} takes no group below it`;
  }
}

/** Threads' groups have a controller only if each group above lets it through. */
function findSecond(resource: Resource, cgroups: Cgroups | undefined): Hold | string {
  if (cgroups === undefined) return "no control group can be made from here";
  const { path } = cgroups;
  try {
    for (const group of [dirname(path), path]) letThrough(group, resource);
    return { version: 2, path };
  } catch {
    return `the controller ${resource} can't be had in the control group ${dirname(path)}`;
  }
}

function letThrough(group: string, resource: Resource): void {
  const file = join(group, "cgroup.subtree_control");
  if (!readFileSync(file, "utf8").split(/\s+/).includes(resource)) writeFileSync(file, `+${resource}`);
}
