/** What a commit appends, as puts of keys whose numbers the commit function replaces. */
import { appendedKeyBytes, appendNumberBytes, appendPrefixBytes, writeSuffix } from '../append.ts'
import type { Sequence } from '../sequence.ts'
import type { Append, Bytes, Commit, Put } from '../store.ts'

/** Numbers of keys that wait for their own; commits of one call must not have the same. */
let given = 0

/** The commit with what it appends among its changes. */
export function withUnnumbered(commit: Commit): Commit {
  const { append, changes } = commit
  if (append === undefined || append.values.length === 0) return commit
  return { ...commit, changes: joined(changes, unnumberedPuts(append)) }
}

/** In the order of their keys. */
export function unnumberedPuts({ prefix, values }: Append): Put[] {
  given = (given + 1) % 2 ** 32
  return values.map((value, part) => {
    const key = Buffer.alloc(appendedKeyBytes)
    key.set(prefix)
    key[appendPrefixBytes] = 0x80
    key.writeUInt32BE(given, appendPrefixBytes + appendNumberBytes - 4)
    writeSuffix(key, part, value.length)
    return { kind: 'put', key, value }
  })
}

function joined<T>(ones: Sequence<T>, others: readonly T[]): Sequence<T> {
  return {
    length: ones.length + others.length,
    *[Symbol.iterator]() {
      yield* ones
      yield* others
    },
  }
}

/** `placement`: of the key. */
export function isUnnumbered(key: Bytes, placement: number, appendPlacement: number): boolean {
  const isOfAppend = placement === appendPlacement && key.length === appendedKeyBytes
  return isOfAppend && (key[appendPrefixBytes] as number) > 127
}
