/** A summary of the changes of a commit, for the audit log and counters. */
import type { CatalogState } from '../schema/class-definition.ts'
import type { Oid } from '../types/oid.ts'
import type { ObjectState } from './working-set.ts'

/** The maximum number of OIDs and of class names in a change set. */
const listedMax = 100

/** Plain data, which a statement thread sends with its commit. */
export interface ChangeSet {
  /** Objects that were created, changed or deleted, and owners of links that were added or removed. */
  readonly objects: number
  /** The first OIDs, changed objects before owners of links. */
  readonly oids: readonly Oid[]
  /** Classes of these objects, and classes that were defined or changed. */
  readonly classes: readonly string[]
  /** Classes or indexes were changed. */
  readonly hasSchema: boolean
}

/** Called after each commit of this process that has changed something, once, in the order in which the store acknowledges them. */
export type ChangeListener = (changes: ChangeSet) => void

/** Collects the changes of one attempt; used only if there is a listener. */
export class ChangeRecorder {
  private readonly changed = new Set<Oid>()
  private readonly owners = new Set<Oid>()
  private readonly classes = new Set<string>()
  private hasSchema = false

  /** Undefined if nothing was changed. */
  get changes(): ChangeSet | undefined {
    const { classes, hasSchema } = this
    const all = new Set([...this.changed, ...this.owners])
    if (all.size === 0 && !hasSchema) return undefined
    return { objects: all.size, oids: [...all].slice(0, listedMax), classes: [...classes], hasSchema }
  }

  /** `state`: as it is written. */
  object({ oid, format, before, isDeleted }: ObjectState): void {
    if (isDeleted && before === undefined) return
    this.changed.add(oid)
    this.list(format.cls.name)
  }

  link(owner: Oid): void {
    this.owners.add(owner)
  }

  catalog(before: CatalogState, after: CatalogState): void {
    this.hasSchema = true
    const existing = new Set<unknown>(before.classes)
    for (const one of after.classes) if (!existing.has(one)) this.list(one.name)
  }

  private list(className: string): void {
    if (this.classes.size < listedMax) this.classes.add(className)
  }
}
