/**
 * Finds processes that have an LMDB environment open without having passed the gate: Linux shows who holds LMDB's locks
 * on `lock.mdb`.
 */
import { readFileSync, statSync } from 'node:fs'

/**
 * The numbers of the processes that hold POSIX locks on a file, which LMDB does from opening to closing. The file is not opened:
 * closing it would end the locks that this process itself has on it. Empty on other systems, for processes of namespaces that this
 * one does not see, and on file systems whose files have other device numbers than Linux gives for locks (Btrfs, overlays).
 */
export function lockHolders(path: string): number[] {
  if (process.platform !== 'linux') return []
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  if (stats === undefined) return []
  const pids = new Set<number>()
  for (const [, pid, major, minor, inode] of linesOfLocks()) {
    const isSame = BigInt(inode!) === stats.ino && deviceNumber(major!, minor!) === stats.dev
    if (isSame && Number(pid) > 0) pids.add(Number(pid))
  }
  return [...pids]
}

function linesOfLocks(): Iterable<RegExpMatchArray> {
  try {
    return readFileSync('/proc/locks', 'latin1').matchAll(/: POSIX +\S+ +\S+ +(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /g)
  } catch {
    // Without /proc there is nothing to look at.
    return []
  }
}

/** As the C library composes it, and `stat` tells it. */
function deviceNumber(majorHex: string, minorHex: string): bigint {
  const [major, minor] = [BigInt(`0x${majorHex}`), BigInt(`0x${minorHex}`)]
  return ((major & 0xfffn) << 8n) | ((major & ~0xfffn) << 32n) | (minor & 0xffn) | ((minor & ~0xffn) << 12n)
}
