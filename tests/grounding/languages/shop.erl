-module(shop).
-export([open/1, total/2]).
-record(item, {name, price = 0}).
-define(LIMIT, 30).
-define(DOUBLE(X), (X) * 2).
-type door() :: open | closed.
-opaque till() :: integer().
-callback arrive(term()) -> ok.
-spec close(door()) -> door().
close(_) ->
    closed.

open(Door) ->
    io:format("open ~p~n", [Door]),
    Door.

total([], Sum) ->
    Sum;
total([Item | Rest], Sum) ->
    Price = Item#item.price,
    total(Rest, Sum + Price).

each(Items) ->
    Visit = fun(Item) ->
        open(Item)
    end,
    lists:map(Visit, Items).
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
%
% Nothing is named here.
