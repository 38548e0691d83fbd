import { HighlightStyle } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** Colours of SQL, from those of the page, so that they follow the colour scheme. */
export const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--lh-accent)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--lh-ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--lh-warn)' },
  { tag: tags.comment, color: 'var(--mantine-color-dimmed)' },
])

/** The look of the editor: that of the other fields of the page. */
export const LOOK = EditorView.theme({
  '&': {
    border: '1px solid var(--lh-border-strong)',
    borderRadius: 'var(--mantine-radius-default)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    fontSize: 'var(--mantine-font-size-sm)',
  },
  '&.cm-focused': { outline: '2px solid var(--lh-accent)', outlineOffset: '-1px' },
  '.cm-scroller': {
    minHeight: '6rem',
    maxHeight: '24rem',
    overflow: 'auto',
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.5',
  },
  '.cm-content': { minHeight: '6rem', caretColor: 'var(--mantine-color-text)' },
  '.cm-placeholder': { color: 'var(--mantine-color-dimmed)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--lh-accent-soft)' },
  '.cm-tooltip': {
    border: '1px solid var(--lh-border-strong)',
    borderRadius: 'var(--mantine-radius-default)',
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { maxWidth: 'min(40rem, 90vw)', maxHeight: 'none', overflow: 'hidden' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--lh-accent)',
    color: 'var(--lh-on-accent)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-completionDetail': { color: 'var(--mantine-color-dimmed)', fontStyle: 'normal' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
})
