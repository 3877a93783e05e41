/** How the pages of several processes are counted once. */
import { describe, expect, it } from 'vitest'
import { kibibytesOncePerPage } from '../processes.ts'

function mapping(name: string, inode: number, shared: number, privates: number): string {
  const sizes = { Shared_Clean: shared, Shared_Dirty: 0, Private_Clean: 0, Private_Dirty: privates }
  const lines = Object.entries(sizes).map(([kind, size]) => `${`${kind}:`.padEnd(16)}${String(size).padStart(8)} kB`)
  return [
    `55d0c8400000-55d0c8500000 r-xp 00001000 08:01 ${inode}   ${name}`,
    ...lines,
    'VmFlags: rd ex mr mw me',
    '',
  ].join('\n')
}

describe('kibibytesOncePerPage', () => {
  it('counts shared pages of a file once, by the process that has most of them', () => {
    expect(kibibytesOncePerPage([mapping('/bin/node', 7, 100, 0), mapping('/bin/node', 7, 80, 0)])).toBe(100)
  })

  it('counts private pages of each process, of files and of none', () => {
    const one = mapping('/bin/node', 7, 100, 5) + mapping('[heap]', 0, 0, 30)
    expect(kibibytesOncePerPage([one, one])).toBe(100 + 2 * 35)
  })

  it('counts files by their inode, not by their name', () => {
    expect(kibibytesOncePerPage([mapping('/data', 7, 100, 0), mapping('/data', 8, 80, 0)])).toBe(180)
  })
})
