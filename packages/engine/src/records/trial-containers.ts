/** Allocates OIDs for trial runs that are never committed, such as an analyzed statement, without using up those of the store. */
import { assert } from '../errors.ts'
import { containerMax, databaseMax, firstContainer, pageMax, slotMax } from '../limits.ts'
import type { Awaitable, Snapshot } from '../store/store.ts'
import type { Oid } from '../types/oid.ts'
import type { ClassNumber } from '../types/type-spec.ts'
import type { Container, Containers } from './container-registry.ts'

/** The last database: containers are assigned from the first one on, 32,765 per database. */
const trialDatabase = databaseMax

interface TrialContainer extends Container {
  page: number
  nextSlot: number
}

/** Looks up all other containers in the registry of the process. */
export class TrialContainers implements Containers {
  private readonly others: Containers
  private readonly own = new Map<ClassNumber, TrialContainer>()

  constructor(others: Containers) {
    this.others = others
  }

  allocate(classNumber: ClassNumber): Oid {
    let open = this.own.get(classNumber)
    if (open === undefined) {
      const container = containerMax - this.own.size
      assert(container >= firstContainer, 'a database has a container for each class')
      open = { database: trialDatabase, container, classNumber, page: 1, nextSlot: 1 }
      this.own.set(classNumber, open)
    }
    if (open.nextSlot > slotMax) {
      assert(open.page < pageMax, 'one change does not fill a container')
      open.page++
      open.nextSlot = 1
    }
    return `${open.database}-${open.container}-${open.page}-${open.nextSlot++}` as Oid
  }

  cached(): Container[] {
    return [...this.others.cached(), ...this.own.values()]
  }

  classOf(oid: Oid, snapshot: Snapshot): Awaitable<ClassNumber | undefined> {
    for (const { database, container, classNumber } of this.own.values())
      if (oid.startsWith(`${database}-${container}-`)) return classNumber
    return this.others.classOf(oid, snapshot)
  }
}
