/** The operations that are measured, one a row: how many clients ask, and what for. */
import { type Contender, readIds } from '../contenders/contender.ts'
import type { BenchRequest } from '../load/load.ts'
import { anyYear, license, type Vehicle, vehicle } from '../vehicles.ts'

export interface Row {
  readonly name: string
  readonly connections: number
  /** Each request can be sent once only. */
  readonly isOnce: boolean
  /** As many as that, or fewer where there are not as many objects; undefined where the contender has no such operation. */
  requests(contender: Contender, count: number): BenchRequest[] | undefined
  /** What has to be there before, for so many runs. */
  prepare?(contender: Contender, runs: number): Promise<void>
}

const readers = 64
const writers = 32

/** By contender: the identities of vehicles that may be deleted, a list for each run. */
const doomed = new WeakMap<Contender, string[][]>()

function repeated(count: number, request: () => BenchRequest): BenchRequest[] {
  return Array.from({ length: count }, request)
}

function anyOf(ids: readonly string[]): string {
  return ids[Math.floor(Math.random() * ids.length)] as string
}

function anyLicense({ objects }: Contender): string {
  return license(Math.floor(Math.random() * objects))
}

export function nextVehicles(contender: Contender, count: number): Vehicle[] {
  return Array.from({ length: count }, () => vehicle(contender.next++))
}

/** In the order of measurement: what is created is deleted afterwards. */
export const rows: readonly Row[] = [
  {
    name: 'read',
    connections: readers,
    isOnce: false,
    requests: ({ forms, ids }, count) => repeated(count, () => forms.read(anyOf(ids))),
  },
  {
    name: 'equality',
    connections: readers,
    isOnce: false,
    requests: (contender, count) => repeated(count, () => contender.forms.equality(anyLicense(contender))),
  },
  {
    name: 'equality-in-text',
    connections: readers,
    isOnce: false,
    requests: (contender, count) => {
      const { equalityInText } = contender.forms
      return equalityInText && repeated(count, () => equalityInText(anyLicense(contender)))
    },
  },
  {
    name: 'range',
    connections: readers,
    isOnce: false,
    requests: ({ forms }, count) => repeated(count, () => forms.range(anyYear())),
  },
  {
    name: 'two-hops',
    connections: readers,
    isOnce: false,
    requests: ({ forms }, count) => repeated(count, () => forms.makers(anyYear())),
  },
  {
    name: 'update',
    connections: writers,
    isOnce: false,
    requests: ({ forms, ids }, count) => {
      return repeated(count, () => forms.update(anyOf(ids), Math.floor(Math.random() * 1e6)))
    },
  },
  {
    name: 'create',
    connections: writers,
    isOnce: true,
    requests: (contender, count) => nextVehicles(contender, count).map((one) => contender.forms.create(one)),
  },
  {
    name: 'delete',
    connections: writers,
    isOnce: true,
    async prepare(contender, runs) {
      const created = await readIds(contender, (nth) => nth >= contender.objects)
      const share = Math.floor(created.length / runs)
      const lists = Array.from({ length: runs }, (_, run) => created.slice(run * share, (run + 1) * share))
      doomed.set(contender, lists)
    },
    requests: (contender, count) => doomed.get(contender)?.pop()?.slice(0, count).map(contender.forms.remove) ?? [],
  },
]
