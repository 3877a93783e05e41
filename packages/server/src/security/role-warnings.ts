/** Warns the operator of roles that do not fit the schema: at the start, and after changes of classes or roles. */
import type { FederatedDatabase } from '@ashlar/engine'
import { roleCheckIntervalMs } from '../limits.ts'
import type { KnownCallers } from './known-callers.ts'
import { roleProblems } from './role-problems.ts'
import type { CustomRoles } from './roles.ts'

export class RoleWarnings {
  private readonly callers: KnownCallers
  private readonly fds: readonly FederatedDatabase[]
  private readonly warn: (message: string) => void
  /** Current problems: each is reported when it first occurs. */
  private told: ReadonlySet<string> = new Set()
  /** The roles and schemas of the last check. */
  private seen: readonly [roles: CustomRoles, schemas: string] | undefined
  private looking: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(callers: KnownCallers, fds: readonly FederatedDatabase[], warn: (message: string) => void) {
    this.callers = callers
    this.fds = fds
    this.warn = warn
  }

  start(): void {
    this.timer = setInterval(() => this.look(), roleCheckIntervalMs).unref()
    this.look()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.looking
  }

  private look(): void {
    this.looking ??= this.lookIfChanged()
      // A role that cannot be read is reported by those who need it, and checked again.
      .catch(() => undefined)
      .finally(() => {
        this.looking = undefined
      })
  }

  private async lookIfChanged(): Promise<void> {
    const roles = await this.callers.roles()
    if ([...roles.values()].every(({ grants }) => grants.length === 0)) return
    const schemas = (await Promise.all(this.fds.map((fd) => fd.schemaVersion()))).join()
    if (this.seen?.[0] === roles && this.seen[1] === schemas) return
    const problems = await this.problemsOf(roles)
    for (const problem of problems) if (!this.told.has(problem)) this.warn(problem)
    this.told = problems
    this.seen = [roles, schemas]
  }

  private async problemsOf(roles: CustomRoles): Promise<ReadonlySet<string>> {
    const problems = new Set<string>()
    for (const [name, { grants }] of roles) {
      for (const { fdAlias, grant, field, message } of await roleProblems(this.fds, grants)) {
        const where = fdAlias === null ? '' : ` in ${fdAlias}`
        problems.add(
          `Role ${name}, grant ${grant}, ${field}${where}: ${message} The grant has no effect until it does.`,
        )
      }
    }
    return problems
  }
}
