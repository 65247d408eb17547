{-# LANGUAGE GADTs, TypeFamilies #-}
-- | A shop and what is in it.
module Shop.Stock (total, Shape(..)) where

import qualified Data.Map as Map

-- | How a thing looks.
data Shape
  = Circle Double
  | Square { side :: Int, other :: !Int }
  | Int :+: Int
  deriving (Show, Eq)

data Rec = MkRec
  { fieldA :: Int
  , fieldB
  , fieldC :: Int
  }

data Expr a where
  IntE :: Int -> Expr Int
  PairE :: Expr a -> Expr b -> Expr (a, b)
  RecE :: { gadtField :: Int } -> Expr Int
  (:&&:) :: Expr Bool -> Expr Bool -> Expr Bool

data Hidden = forall a. Show a => MkHidden a
newtype Ident = MkIdent { unIdent :: Int }
newtype Plain a = MkPlain a
type Alias = Int
type f ~> g = forall x. f x -> g x
data a :*: b = MkProd a b

class Eq a => Loud a where
  type Elem a :: *
  data Store a
  shout :: a -> String
  shout _ = "x"
  (<+>) :: a -> a -> a
  quiet, hushed :: a -> String
  default fallback :: a -> Int

class a :<: b where
  inject :: a -> b

instance Loud Int where
  type Elem Int = Int
  quiet x = show x
  a <-> b = a

instance Show a => Show (Expr a) where
  showsPrec _ _ = id

deriving instance Ord Alias

type family Closed a :: * where
  Closed Int = Bool
  Closed Bool = Int
type family Open a
type instance Open Char = Bool
data family Table k
data instance Table Int = IntTable Int
newtype instance Table Bool = BoolTable Bool

pattern Pair :: a -> b -> (a, b)
pattern Pair x y = (x, y)
pattern Foremost first <- first : _
pattern left :> right = (left, right)

total :: Int -> Int
total x = helper x + offset
  where
    helper z = z
    offset = 3
    (low, high) = (1, 2)

(|>) :: a -> (a -> b) -> b
x |> f = f x
(<$$>) = fmap
x `plus` y = x + y
foldl' f = f

main :: IO ()
main = do
  let local = 3
      twice a = a + a
  print local
  print (twice 2)
  where
    go 0 = 1
    go n = n

sized n
  | n > 1 = let inner = n in inner
  | otherwise = 2

foreign import ccall "math.h sin" c_sin :: Double -> Double
Just fromJust1 = Nothing
[firstOf, secondOf] = [1, 2]
~(lazyL, lazyR) = (1, 2)

-- Nothing is named from here on.
--
--
--
--
--
--
--
--
--
--
--
