/** Finds processes that have an LMDB environment open without having passed the gate: Linux shows the holders of LMDB's locks on `lock.mdb`. */
import { readFileSync, statSync } from 'node:fs'

/**
 * The IDs of the processes that hold POSIX locks on a file, as LMDB does while an environment is open. Does not open the file, since closing it would
 * release this process's own locks. Empty on other systems, for processes in invisible namespaces, and on file systems whose device numbers differ
 * from those that Linux shows for locks (Btrfs, overlays).
 */
export function lockHolders(path: string): number[] {
  if (process.platform !== 'linux') return []
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  if (stats === undefined) return []
  const pids = new Set<number>()
  for (const [, pid, major, minor, inode] of lockLines()) {
    const isSame = BigInt(inode!) === stats.ino && deviceNumber(major!, minor!) === stats.dev
    if (isSame && Number(pid) > 0) pids.add(Number(pid))
  }
  return [...pids]
}

function lockLines(): Iterable<RegExpMatchArray> {
  try {
    return readFileSync('/proc/locks', 'latin1').matchAll(/: POSIX +\S+ +\S+ +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /g)
  } catch {
    // Without /proc there is no information.
    return []
  }
}

/** The device number as the C library composes it and `stat` returns it. */
function deviceNumber(majorHex: string, minorHex: string): bigint {
  const [major, minor] = [BigInt(`0x${majorHex}`), BigInt(`0x${minorHex}`)]
  return ((major & 0xfffn) << 8n) | ((major & ~0xfffn) << 32n) | (minor & 0xffn) | ((minor & ~0xffn) << 12n)
}
