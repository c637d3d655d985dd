// Scripts by which shells complete the words of `countersign`, made from its commands. Pure.

export type Words = { readonly path: readonly string[]; readonly words: readonly string[] };

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** @param tree what may follow each path of commands, the root first */
export function makeCompletion(shell: Shell, tree: readonly Words[]): string {
  return { bash: makeBash, zsh: makeZsh, fish: makeFish }[shell](tree);
}

/** The longest path first, so that the words of `agent list` win over those of `agent`. */
const longestFirst = (tree: readonly Words[]) => [...tree].sort((a, b) => b.path.length - a.path.length);

/** The branches of a `case` over what was typed, in bash and zsh. */
const casesOf = (tree: readonly Words[], assign: (words: string) => string): string =>
  longestFirst(tree)
    .map(
      ({ path, words }) => `    "${path.map((word) => ` ${word}`).join('')}"*) ${assign(words.join(' '))} ;;`,
    )
    .join('\n');

function makeBash(tree: readonly Words[]): string {
  return `_countersign() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || path="$path $word"
  done
  case "$path" in
${casesOf(tree, (words) => `words="${words}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _countersign countersign`;
}

/** In zsh `path` and `words` are variables of the shell. Sourced without compinit, the script starts it. */
function makeZsh(tree: readonly Words[]): string {
  return `#compdef countersign
_countersign() {
  local typed="" word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] || typed="$typed $word"
  done
  case "$typed" in
${casesOf(tree, (words) => `candidates=(${words})`)}
  esac
  compadd -a candidates || _default
}
if [[ \${funcstack[1]} == _countersign ]]; then
  _countersign "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
  compdef _countersign countersign
fi`;
}

function makeFish(tree: readonly Words[]): string {
  return tree
    .flatMap(({ path, words }) => {
      const names = words.filter((word) => !word.startsWith('-'));
      const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
      const unseen = names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.join(' ')}`];
      const when = path.length === 0 ? '__fish_use_subcommand' : [...seen, ...unseen].join('; and ');
      return words.map((word) =>
        word.startsWith('--')
          ? `complete -c countersign -n '${when}' -l ${word.slice(2)}`
          : `complete -c countersign -f -n '${when}' -a ${word}`,
      );
    })
    .join('\n');
}
