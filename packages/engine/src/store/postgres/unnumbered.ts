/** Represents appended values as puts of keys with placeholders, which the commit function replaces by numbers. */
import { appendedKeyBytes, appendNumberBytes, appendPrefixBytes, writeSuffix } from '../append.ts'
import type { Sequence } from '../sequence.ts'
import type { Append, Bytes, Commit, Put } from '../store.ts'

/** The last placeholder; commits of one call must have different ones. */
let placeholder = 0

/** Adds the appended values to the changes of the commit. */
export function withUnnumbered(commit: Commit): Commit {
  const { append, changes } = commit
  if (append === undefined || append.values.length === 0) return commit
  return { ...commit, changes: joined(changes, unnumberedPuts(append)) }
}

/** In key order. */
export function unnumberedPuts({ prefix, values }: Append): Put[] {
  placeholder = (placeholder + 1) % 2 ** 32
  return values.map((value, part) => {
    const key = Buffer.alloc(appendedKeyBytes)
    key.set(prefix)
    key[appendPrefixBytes] = 0x80
    key.writeUInt32BE(placeholder, appendPrefixBytes + appendNumberBytes - 4)
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
  const mayBeAppended = placement === appendPlacement && key.length === appendedKeyBytes
  return mayBeAppended && (key[appendPrefixBytes] as number) > 127
}
