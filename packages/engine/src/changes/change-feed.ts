/** Reads the changes of a federated database, page by page from a position. */
import { RequestMemory } from '../budget/request-memory.ts'
import { WorkClock } from '../budget/work-clock.ts'
import type { CancelSignal } from '../cancel-signal.ts'
import type { LoggedChange } from '../change-log/logged-change.ts'
import { AshlarError } from '../errors.ts'
import { changesPageBytes, changesReadBytes } from '../limits.ts'
import type { ScriptContext } from '../query/execute/statement-context.ts'
import { dialectDefault } from '../query/language/dialect.ts'
import { ticksNow } from '../query/prepare-text.ts'
import { newQueryCounts } from '../query/query-counts.ts'
import { type User, userValue } from '../query/values/user.ts'
import type { Catalog } from '../schema/catalog.ts'
import type { SettledNumbers, Snapshot } from '../store/store.ts'
import { openSliceOfWork } from '../store/time-slice.ts'
import { withSnapshot } from '../store/with-snapshot.ts'
import type { OpenDatabase } from '../write/open-database.ts'
import { ChangeFilter } from './change-filter.ts'
import { type CatalogChange, ChangeDecoder, type DecodedChange } from './decode-change.ts'
import { type LogPosition, parsePosition, positionText } from './log-position.ts'
import { type LogPart, lastNumberIn, logParts, truncatedNumberIn } from './read-log.ts'
import { type RestrictedFollower, SeenChanges } from './seen-changes.ts'
import { epochOf } from './switch-change-log.ts'
import { type Include, linkChangeJson, recordChangeJson, schemaChangeJson } from './write-change.ts'

export interface ChangesRequest {
  /** A position; `first`: from the oldest change available; `now`: only future changes. */
  readonly since: string
  /** Restricts the feed to objects of the class and its subclasses; schema changes are always reported. */
  readonly className?: string | undefined
  /** A predicate of DO: restricts the feed to objects for which it holds before or after the change, without links and schema changes. */
  readonly where?: string | undefined
  /** With `className`: reports only changes of these attributes. */
  readonly attributes?: readonly string[] | undefined
  readonly include: Include
  readonly limit: number
  /** The value of `$$USER` in the predicate. */
  readonly user?: User | null | undefined
  readonly signal?: CancelSignal | undefined
}

export interface ReportedChange {
  readonly position: string
  /** JSON in UTF-8. */
  readonly json: Buffer
}

export interface ChangesPage {
  readonly changes: readonly ReportedChange[]
  /** The position to continue from, even if nothing was reported. */
  readonly position: string
  /** Whether there were no more changes when the page was made. */
  readonly isAtEnd: boolean
}

export interface FeedPosition {
  readonly position: string
  /** Whether it also shows later ones, but not all that were made before those. */
  readonly isAhead: boolean
}

export class ChangeFeed {
  private readonly database: OpenDatabase
  private readonly follower: RestrictedFollower | undefined

  constructor(database: OpenDatabase, follower?: RestrictedFollower) {
    this.database = database
    this.follower = follower
  }

  /**
   * Throws ChangeLogOff; ChangesGone if the position is of removed changes or of another store; MalformedRequest if it is invalid; UnknownClass,
   * UnknownAttribute, QuerySyntaxError, QueryError and LimitExceeded for the class, its attributes and the predicate; the signal's reason; for a
   * restricted follower Forbidden if the feed cannot be exact.
   */
  async page(request: ChangesRequest): Promise<ChangesPage> {
    const { store, limits, memory } = this.database
    const numbers = await store.settledNumbers?.()
    const reserved = new RequestMemory(memory, limits)
    try {
      return await withSnapshot(store, (snapshot) => this.pageOn(snapshot, numbers, request, reserved), {
        isolation: 'readOnly',
      })
    } finally {
      reserved.release()
    }
  }

  /** The number of the last commit that can be reported; 0 if the log is off or empty. */
  async lastNumber(): Promise<number> {
    const { store, catalogs } = this.database
    const numbers = await store.settledNumbers?.()
    if (numbers !== undefined) return numbers.settled
    return withSnapshot(store, async (snapshot) => lastNumberIn(snapshot, epochOf(await catalogs.at(snapshot))))
  }

  /** `numbers`: read before the snapshot was opened. Throws ChangeLogOff. */
  async endOf(snapshot: Snapshot, catalog: Catalog, numbers: SettledNumbers | undefined): Promise<FeedPosition> {
    const { since, last, stored } = await this.bounds(snapshot, catalog, numbers, 'now')
    return { position: positionText(since), isAhead: last < stored }
  }

  private async pageOn(
    snapshot: Snapshot,
    numbers: SettledNumbers | undefined,
    request: ChangesRequest,
    memory: RequestMemory,
  ): Promise<ChangesPage> {
    const { catalogs, containers } = this.database
    const catalog = await catalogs.at(snapshot)
    const { since, last } = await this.bounds(snapshot, catalog, numbers, request.since)
    const script = this.script(request, memory)
    const { follower } = this
    const client = { signal: request.signal, memory }
    const seen = follower && (await SeenChanges.on(snapshot, catalog, this.database, follower, client))
    const visible = seen?.catalog ?? catalog
    const decoder = new ChangeDecoder(visible, async (oid) => containers.classOf(oid, snapshot))
    const filter = new ChangeFilter(request, script, snapshot, visible)
    seen?.check(filter, !filter.hasPredicate)
    const page = new Page({ request, filter, decoder, seen, script, since })
    for await (const part of logParts(snapshot, since, last)) {
      request.signal?.throwIfAborted()
      if (!(await page.add(part))) return page.made(false)
    }
    if (last > page.position.number) page.position = { epoch: since.epoch, number: last, within: undefined }
    return page.made(true)
  }

  private async bounds(
    snapshot: Snapshot,
    catalog: Catalog,
    numbers: SettledNumbers | undefined,
    text: string,
  ): Promise<{ readonly since: LogPosition; readonly last: number; readonly stored: number }> {
    const epoch = epochOf(catalog)
    if (epoch === 0) {
      throw new AshlarError(
        'ChangeLogOff',
        'The federated database keeps no log of its changes; its operator turns it on by changeLog.',
      )
    }
    const stored = await lastNumberIn(snapshot, epoch)
    const last = Math.min(numbers?.settled ?? stored, stored)
    const removed = await truncatedNumberIn(snapshot, epoch)
    if (text === 'now' || text === 'first') {
      return {
        since: { epoch, number: text === 'now' ? Math.max(last, removed) : removed, within: undefined },
        last,
        stored,
      }
    }
    const since = parsePosition(text)
    if (since.epoch !== epoch) throw gone(text, 'is of a log that was ended or of another store')
    const isRemoved = since.number < removed || (since.number === removed && since.within !== undefined)
    if (isRemoved) throw gone(text, 'is before the oldest change that is kept')
    // If several commits run concurrently, this process may see less than the one that reported the position.
    if (since.number > (numbers?.assigned ?? last))
      throw gone(text, 'is behind the latest change: it is of another store')
    return { since, last, stored }
  }

  private script({ where = '', user, signal }: ChangesRequest, memory: RequestMemory): ScriptContext {
    const { limits, store } = this.database
    const clock = new WorkClock(limits.statementMsMax)
    return {
      text: where,
      dialect: dialectDefault,
      limits,
      capabilities: store.capabilities,
      signal,
      slice: clock.stoppedBetween(openSliceOfWork()),
      clock,
      memory,
      written: newQueryCounts(),
      totals: newQueryCounts(),
      now: ticksNow(),
      user: userValue(user ?? null),
    }
  }
}

function gone(position: string, why: string): AshlarError {
  return new AshlarError(
    'ChangesGone',
    `The position ${position} ${why}. Read the objects again, and follow the changes from a position obtained before that.`,
  )
}

interface PageParts {
  readonly request: ChangesRequest
  readonly filter: ChangeFilter
  readonly decoder: ChangeDecoder
  /** Undefined if nothing is hidden. */
  readonly seen: SeenChanges | undefined
  readonly script: ScriptContext
  readonly since: LogPosition
}

class Page {
  position: LogPosition
  private readonly parts: PageParts
  private readonly changes: ReportedChange[] = []
  /** Schema changes of one commit, which are reported as one. */
  private readonly schema: CatalogChange[] = []
  private jsonBytes = 0
  private readBytes = 0

  constructor(parts: PageParts) {
    this.parts = parts
    this.position = parts.since
  }

  made(isAtEnd: boolean): ChangesPage {
    return { changes: this.changes, position: positionText(this.position), isAtEnd }
  }

  /** False if the page is full. */
  async add(part: LogPart): Promise<boolean> {
    const { since, filter, script, decoder, seen } = this.parts
    const { within, number } = since
    const reported = number === part.number && within?.part === part.part ? within.index : 0
    const logged = [...part.changes()]
    const { schema } = this
    for (let index = reported; index < logged.length; index++) {
      const change = logged[index] as LoggedChange
      const decoded = await (seen === undefined ? decoder.decode(change) : visiblePart(change, decoder, seen))
      if (decoded?.of === 'catalog') {
        if (!filter.hasPredicate) schema.push(...decoded.changes)
      } else if (decoded !== undefined) {
        const here = positionIn(part, index, logged.length)
        this.addSchema(part, here)
        if (this.isFull) {
          this.position = here
          return false
        }
        await this.addDecoded(decoded, part, positionIn(part, index + 1, logged.length))
      }
      // Unreported changes do not separate schema changes: those around them are reported as one.
      if (schema.length === 0) this.position = positionIn(part, index + 1, logged.length)
      if (this.isFull) return false
      const pause = script.slice.yieldIfDue()
      if (pause !== undefined) await pause
    }
    this.readBytes += part.bytes
    const mayContinue = this.readBytes < changesReadBytes
    const end = positionIn(part, logged.length, logged.length)
    // The next part of the commit may continue them.
    if (part.isLast || !mayContinue) this.addSchema(part, end)
    if (schema.length === 0) this.position = end
    return mayContinue && !this.isFull
  }

  private get isFull(): boolean {
    return this.changes.length >= this.parts.request.limit || this.jsonBytes >= changesPageBytes
  }

  private addSchema({ at }: LogPart, position: LogPosition): void {
    const { schema } = this
    if (schema.length === 0) return
    const text = positionText(position)
    this.push(text, schemaChangeJson({ position: text, at }, schema))
    schema.length = 0
  }

  private async addDecoded(
    decoded: Exclude<DecodedChange, { readonly of: 'catalog' }>,
    { at }: LogPart,
    position: LogPosition,
  ): Promise<void> {
    const { filter, request } = this.parts
    if (!filter.includesClass(decoded.format.cls)) return
    const text = positionText(position)
    const head = { position: text, at }
    if (decoded.of === 'link') {
      if (!filter.hasPredicate && filter.includes(decoded.attribute)) this.push(text, linkChangeJson(head, decoded))
      return
    }
    const matched = await filter.matched(decoded)
    if (matched === undefined) return
    const change = filter.restrict(decoded, matched)
    if (change !== undefined) this.push(text, recordChangeJson(head, change, matched, request.include))
  }

  private push(position: string, json: Buffer): void {
    this.parts.script.memory.chargeStatement(json.length)
    this.jsonBytes += json.length
    this.changes.push({ position, json })
  }
}

async function visiblePart(
  logged: LoggedChange,
  decoder: ChangeDecoder,
  seen: SeenChanges,
): Promise<DecodedChange | undefined> {
  const visible = await seen.seen(logged)
  const decoded = visible && (await decoder.decode(visible))
  if (decoded?.of === 'link') return (await seen.isLinkSeen(decoded)) ? decoded : undefined
  if (decoded?.of !== 'catalog') return decoded
  const changes = decoded.changes.flatMap((change) => seen.schemaSeen(change))
  return changes.length === 0 ? undefined : { of: 'catalog', changes }
}

function positionIn({ epoch, number, part, isLast }: LogPart, index: number, count: number): LogPosition {
  return { epoch, number, within: isLast && index === count ? undefined : { part, index } }
}
