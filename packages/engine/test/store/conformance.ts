/** What every store promises, as one suite that runs on each driver and on wrappers over them. */
import { describe } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { appendRules } from './conformance/appends.ts'
import { commitRules } from './conformance/commits.ts'
import { concurrencyRules } from './conformance/concurrency.ts'
import { lifeRules } from './conformance/life.ts'
import { limitRules } from './conformance/limits.ts'
import { modelRules } from './conformance/model.ts'
import { rangeRules } from './conformance/ranges.ts'
import { snapshotRules } from './conformance/snapshots.ts'

export interface Driver {
  /** A new, empty store. */
  open(): Promise<Store>
  /** Commits sent at once are taken in the order sent; no promise of a store, but it lets the suite ask more. */
  readonly isInOrder?: boolean
  /** An empty store that others may have used, where a new one takes long to be made: for all tests but those of opening and closing. */
  reuse?(): Promise<Store>
  /** A store on which everything takes long is compared with the model less often. */
  readonly isCostly?: boolean
  /** Its commits append nothing. */
  readonly cannotAppend?: boolean
  /** Lengths of keys and values are tested by another driver that sends the same statements. */
  readonly hasLimitsElsewhere?: boolean
  /** Closes the store and opens what it held again; absent where nothing is kept. */
  reopen?(store: Store): Promise<Store>
}

export function storeConformance(name: string, driver: Driver): void {
  const reusing: Driver = { ...driver, open: driver.reuse ?? driver.open }
  describe(`${name}: the promises of a store`, () => {
    snapshotRules(reusing)
    rangeRules(reusing)
    commitRules(reusing)
    if (driver.cannotAppend !== true) appendRules(reusing)
    if (driver.hasLimitsElsewhere !== true) limitRules(reusing)
    concurrencyRules(reusing)
    lifeRules(driver)
    modelRules(reusing)
  })
}
