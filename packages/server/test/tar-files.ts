/** The files of a tar archive, by name, as POSIX ustar has them. */

/** Throws where a header is not right. */
export function readTar(bytes: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; bytes[at] !== 0; ) {
    const header = bytes.subarray(at, at + 512)
    const text = (from: number, length: number): string =>
      header.toString('latin1', from, from + length).replace(/[\0 ]+$/, '')
    const sum = header.reduce((all, byte, i) => all + (i >= 148 && i < 156 ? 0x20 : byte), 0)
    if (text(257, 5) !== 'ustar' || Number.parseInt(text(148, 8), 8) !== sum) throw new Error(`no header at ${at}`)
    const size = Number.parseInt(text(124, 12), 8)
    files.set(text(0, 100), bytes.subarray(at + 512, at + 512 + size))
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
