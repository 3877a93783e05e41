/** Derives attribute names from column names, and refuses two columns with the same attribute name. */
import { type CommandError, invalidInput } from '../errors/command-error.ts'

/** Letters without a decomposition into a basic letter and marks. */
const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
  Æ: 'AE',
  Œ: 'OE',
  Ø: 'O',
  Đ: 'D',
  Ð: 'D',
  Þ: 'TH',
  Ł: 'L',
}

/** Derives a valid attribute name: letters without their marks, and `_` for all other characters. */
export function attributeNameOf(column: string): string {
  const plain = /^[A-Za-z]\w*$/.test(column) ? column : withoutMarks(column.trim())
  const name = plain.replaceAll(/\W+/g, '_')
  return /^(\d|__|$)/.test(name) ? `c${name}` : name
}

function withoutMarks(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[ßæœøđðþłıÆŒØĐÐÞŁ]/g, (letter) => letters[letter] ?? '_')
}

export class ColumnNames {
  private readonly columns = new Map<string, string>()

  add(column: string, attribute: string): void {
    const other = this.columns.get(attribute)
    if (other === undefined) this.columns.set(attribute, column)
    else if (other !== column) throw oneAttribute(other, column, attribute)
  }
}

function oneAttribute(one: string, other: string, attribute: string): CommandError {
  const mapping = JSON.stringify({ columns: { [one]: `${attribute}_1`, [other]: `${attribute}_2` } })
  return invalidInput(
    `The columns '${one}' and '${other}' would both be the attribute ${attribute}, and one of them would be lost: give --mapping a file with ${mapping}, or name all columns by --columns.`,
  )
}
