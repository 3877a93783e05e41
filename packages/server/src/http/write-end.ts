/** The end of a response over HTTP/1.1: its text, by one call for a text. */
import type { ServerResponse } from 'node:http'

/** Of a text that is sent: `latin1` where it has a character for each byte, whatever the bytes stand for. */
export type TextEncoding = 'utf8' | 'latin1'

/** `end` alone writes an empty piece after the text, and both by a call for several, which takes longer than one for a text. */
export function writeEnd(response: ServerResponse, text: string | undefined, encoding: TextEncoding): void {
  const { socket } = response
  if (text === undefined) {
    response.end()
    return
  }
  // Its turn is not there yet, or the client does not take what was sent before.
  if (socket === null || socket.writableLength > 0) {
    response.end(text, encoding)
    return
  }
  socket.cork()
  response.write(text, encoding)
  socket.uncork()
  response.end()
}
