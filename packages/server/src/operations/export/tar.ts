/** Files of a tar archive (POSIX ustar), each written whole. */

const blockBytes = 512
const sumAt = 148
const sumLength = 8

/** Its header, its bytes, and what fills the last block. `name`: 100 characters of ASCII at most; `seconds`: since 1970. */
export function tarFile(name: string, content: Buffer, seconds: number): Buffer {
  const file = Buffer.alloc(blockBytes + Math.ceil(content.length / blockBytes) * blockBytes)

  file.write(name, 0, 'latin1')
  file.write(octal(0o644, 7), 100, 'latin1')
  file.write(octal(0, 7), 108, 'latin1')
  file.write(octal(0, 7), 116, 'latin1')
  file.write(octal(content.length, 11), 124, 'latin1')
  file.write(octal(seconds, 11), 136, 'latin1')
  file.write(' '.repeat(sumLength), sumAt, 'latin1')
  file.write('0', 156, 'latin1')
  file.write('ustar\0' + '00', 257, 'latin1')
  let sum = 0
  for (let at = 0; at < blockBytes; at++) sum += file[at] as number
  file.write(`${octal(sum, 6)}\0 `, sumAt, 'latin1')
  content.copy(file, blockBytes)
  return file
}

/** What follows the last file. */
export const tarEnd = Buffer.alloc(2 * blockBytes)

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}
