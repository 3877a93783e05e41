/** A field for a new object. */

/** A field whose text is passed on, and removed, when it is submitted. */
export function TextForm({ label, onText }: { readonly label: string; readonly onText: (text: string) => void }) {
  return (
    <form action={(form) => onText(String(form.get('text')))}>
      <input name="text" placeholder={label} aria-label={label} required />
      <button type="submit">Add</button>
    </form>
  )
}
