/** Warns the operator of roles that do not match the schema: at the start, and after changes of classes or roles. */
import type { FederatedDatabase } from '@ashlar/engine'
import { roleCheckIntervalMs } from '../limits.ts'
import type { CachedCallers } from './known-callers.ts'
import { roleProblems } from './role-problems.ts'
import type { CustomRoles } from './roles.ts'

export class RoleWarnings {
  private readonly callers: CachedCallers
  private readonly fds: readonly FederatedDatabase[]
  private readonly warn: (message: string) => void
  /** Current problems: each is reported when it first occurs. */
  private reported: ReadonlySet<string> = new Set()
  /** The roles and schemas of the last check. */
  private seen: readonly [roles: CustomRoles, schemas: string] | undefined
  private checking: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined

  constructor(callers: CachedCallers, fds: readonly FederatedDatabase[], warn: (message: string) => void) {
    this.callers = callers
    this.fds = fds
    this.warn = warn
  }

  start(): void {
    this.timer = setInterval(() => this.check(), roleCheckIntervalMs).unref()
    this.check()
  }

  async stop(): Promise<void> {
    clearInterval(this.timer)
    await this.checking
  }

  private check(): void {
    this.checking ??= this.checkIfChanged()
      // A role that cannot be read is reported when it is needed, and checked again.
      .catch(() => undefined)
      .finally(() => {
        this.checking = undefined
      })
  }

  private async checkIfChanged(): Promise<void> {
    const roles = await this.callers.roles()
    if ([...roles.values()].every(({ grants }) => grants.length === 0)) return
    const schemas = (await Promise.all(this.fds.map((fd) => fd.schemaVersion()))).join()
    if (this.seen?.[0] === roles && this.seen[1] === schemas) return
    const problems = await this.problemsOf(roles)
    for (const problem of problems) if (!this.reported.has(problem)) this.warn(problem)
    this.reported = problems
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
