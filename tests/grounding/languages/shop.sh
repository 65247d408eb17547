#!/usr/bin/env bash
# Opens a shop and sells what is in it.
set -euo pipefail

LIMIT=3
readonly RATE=7
declare -A PRICES
declare -a NAMES=(tea coffee)
declare -gx GLOBAL_MARK="x"
typeset depth=1
export SHOP_HOME
export SHOP_MODE=open
PRICES[tea]=2
STOCK+=(milk)
: "${FALLBACK:=none}"

alias ll='ls -l'
alias gs="git status" gd=diff

open_shop() {
  local door=1
  local key lock=2
  echo "$door $key $lock"
}

function close_shop {
  local -r reason="$1"
  echo "$reason"
}

function sell_all()
{
  for item in "${NAMES[@]}"; do
    echo "selling"
    echo "$RATE"
  done
}

shop::total() {
  local sum=0
  for ((step = 0; step < 3; step++)); do
    ((sum_total = sum + step))
  done
  echo "$sum"
}

function shop::empty? {
  return 1
}

deploy-all() {
  echo "deployed"
  true
}

read_lines() {
  read -r first rest <<<"a b"
  read -ra parts <<<"a b"
  IFS=, read -r -p "Name? " answer
  mapfile -t lines <list.txt
  readarray -t rows <list.txt
  printf -v stamp '%s' now
  while IFS= read -r each; do
    echo "$each"
  done <list.txt
  select choice in a b; do
    break
  done
  while getopts "ab:" flag; do
    echo "$flag"
  done
  let count=1
  let "size = 2"
  local -n ref=NAMES
}

(
  sub_only=1
)

run_quiet() (
  exec 2>/dev/null
  "$@"
)

if [[ -n "${SHOP_HOME:-}" ]]; then
  later() {
    :
  }
fi

# Nothing is named from here on.
#
#
#
#
#
#
#
#
#
#
#
true
