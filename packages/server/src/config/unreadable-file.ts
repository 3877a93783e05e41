/** Why a file that its user has named cannot be read, and what to do. */

/** Goes on from "… cannot be read: "; no full stop. */
export function unreadableFile(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file; check its name'
  if (code === 'EISDIR') return 'it is a directory; name a file'
  if (code === 'ELOOP') return 'it is a symbolic link that leads to itself; put the file in its place'
  if (code === 'EACCES' || code === 'EPERM')
    return 'the user who runs Ashlar may not read it; give that user the right to'
  return message
}
